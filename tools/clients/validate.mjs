// ajv as a neutral judge of many documents by many schemas. Each line of the input is {"schema": …, "documents":
// [text, …]}; each line of the output is {"error": "…"} for a schema that does not compile, or {"verdicts": [true, …]}.
import { createInterface } from "node:readline";
import Ajv2020 from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

// The schemas use the vocabularies of 2020-12, the formats that ajv-formats has, and MCP's annotation of a property that
// callers repeat in a header, and nothing else. Own properties: a document has no toString of its own.
const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, ownProperties: true, logger: false });
addFormats(ajv);
ajv.addKeyword({ keyword: "x-mcp-header", schemaType: "string" });

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const { schema, documents } = JSON.parse(line);
  let answer;
  try {
    const validate = ajv.compile(schema);
    answer = { verdicts: documents.map((text) => validate(JSON.parse(text))) };
  } catch (error) {
    answer = { error: String(error) };
  }
  ajv.removeSchema(schema); // it keeps what it compiled
  process.stdout.write(JSON.stringify(answer) + "\n");
}
