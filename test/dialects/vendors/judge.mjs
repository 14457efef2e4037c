// The vendors' own code as judges of schema documents. In comes a list of {"dialect", "name", "schema"}; out goes a list
// of {"judge", "dialect", "name", "error", "schema"} for each judge whose dialect a document has: an error that it threw,
// or the schema that it would send. Nothing is sent anywhere: the providers are given a fetch
// that keeps the request's body.
import { readFileSync, writeFileSync } from "node:fs";
import Ajv2020 from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { toStrictJsonSchema } from "openai/lib/transform";
import { tool as agentsTool } from "@openai/agents-core";
import { transformJSONSchema } from "@anthropic-ai/sdk/lib/transform-json-schema";
import { GoogleGenAI } from "@google/genai";
import { createOpenAI } from "@ai-sdk/openai";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createAmazonBedrock } from "@ai-sdk/amazon-bedrock";

const [input, output] = process.argv.slice(2);
const documents = JSON.parse(readFileSync(input, "utf8"));
const verdicts = [];

// one judges each document of a dialect by itself.
async function one(judge, dialects, transform) {
  for (const { dialect, name, schema } of documents) {
    if (!dialects.includes(dialect)) continue;
    const verdict = { judge, dialect, name };
    try {
      verdict.schema = await transform(structuredClone(schema), name);
    } catch (error) {
      verdict.error = String(error?.message ?? error);
    }
    verdicts.push(verdict);
  }
}

// provider gives all documents of a dialect to a language model as its tools, and reads them from the request.
async function provider(judge, dialect, strict, model, tools) {
  const mine = documents.filter((d) => d.dialect === dialect);
  let body;
  const capture = async (_url, init) => {
    body = JSON.parse(init.body);
    return new Response("{}", { status: 418, headers: { "content-type": "application/json" } });
  };
  const asked = mine.map(({ schema }, i) => ({
    type: "function", name: `tool_${i}`, description: "A tool.", inputSchema: structuredClone(schema), ...(strict ? { strict: true } : {}),
  }));
  const prompt = [{ role: "user", content: [{ type: "text", text: "Hello." }] }];
  let failure;
  try {
    await model(capture).doGenerate({ prompt, tools: asked });
  } catch (error) {
    failure = error;
  }
  if (!body) throw new Error(`${judge}: no request was made: ${failure?.stack ?? failure}`);
  const sent = tools(body);
  if (sent.length !== mine.length) throw new Error(`${judge}: ${sent.length} of ${mine.length} tools are in the request`);
  mine.forEach(({ name }, i) => verdicts.push({ judge, dialect, name, schema: sent[i].schema, ...(strict && !sent[i].strict ? { error: "the strict mode was dropped" } : {}) }));
}

const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, ownProperties: true, logger: false });
addFormats(ajv);
ajv.addKeyword({ keyword: "x-mcp-header", schemaType: "string" });
await one("ajv", ["canonical", "flat", "openai_strict", "anthropic_strict", "bedrock_strict", "nova"], (schema) => {
  ajv.compile(schema);
  ajv.removeSchema(schema); // it keeps what it compiled
  return schema;
});

await one("openai", ["openai_strict"], (schema) => toStrictJsonSchema(schema));
await one("@openai/agents-core", ["openai_strict"], (schema) =>
  agentsTool({ name: "t", description: "A tool.", strict: true, parameters: schema, execute: async () => "" }).parameters);
await one("@anthropic-ai/sdk", ["anthropic_strict"], (schema) => transformJSONSchema(schema));

// The Google SDK reads `parameters` as its own schema type, which is what the gemini dialect is spelled for.
await one("@google/genai parameters", ["gemini"], async (schema) => {
  let body;
  const kept = globalThis.fetch;
  globalThis.fetch = async (_url, init) => {
    body = JSON.parse(init.body);
    return new Response(JSON.stringify({ candidates: [] }), { status: 200, headers: { "content-type": "application/json" } });
  };
  try {
    const client = new GoogleGenAI({ apiKey: "none", vertexai: false });
    await client.models.generateContent({
      model: "gemini-2.5-flash", contents: "Hello.",
      config: { tools: [{ functionDeclarations: [{ name: "t", description: "A tool.", parameters: schema }] }] },
    });
  } finally {
    globalThis.fetch = kept;
  }
  return body.tools[0].functionDeclarations[0].parameters;
});

const strictly = (list) => list.map((t) => ({ schema: t.parameters ?? t.input_schema, strict: t.strict }));
await provider("@ai-sdk/openai", "openai_strict", true,
  (fetch) => createOpenAI({ apiKey: "none", fetch }).responses("gpt-4.1"), (body) => strictly(body.tools));
await provider("@ai-sdk/openai chat", "openai_strict", true,
  (fetch) => createOpenAI({ apiKey: "none", fetch }).chat("gpt-4.1"), (body) => strictly(body.tools.map((t) => t.function)));
await provider("@ai-sdk/anthropic", "anthropic_strict", true,
  (fetch) => createAnthropic({ apiKey: "none", fetch })("claude-sonnet-4-5"), (body) => strictly(body.tools));
await provider("@ai-sdk/google", "gemini", false,
  (fetch) => createGoogleGenerativeAI({ apiKey: "none", fetch })("gemini-2.5-flash"),
  (body) => body.tools[0].functionDeclarations.map((t) => ({ schema: t.parametersJsonSchema ?? t.parameters })));
const bedrock = (id) => (fetch) => createAmazonBedrock({ region: "us-east-1", apiKey: "none", fetch })(id);
const specs = (body) => body.toolConfig.tools.map((t) => ({ schema: t.toolSpec.inputSchema.json, strict: t.toolSpec.strict }));
await provider("@ai-sdk/amazon-bedrock", "bedrock_strict", true, bedrock("us.anthropic.claude-sonnet-4-5-20250929-v1:0"), specs);
await provider("@ai-sdk/amazon-bedrock nova", "nova", false, bedrock("us.amazon.nova-pro-v1:0"), specs);

writeFileSync(output, JSON.stringify(verdicts));
