// What the client drivers share: the job they are given, and ajv as a neutral judge of schemas and results.
import Ajv2020 from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

/** The job: {url, clientId, clientSecret, calls: [{title, arguments}]}, as JSON in the first argument. */
export function job() {
  return JSON.parse(process.argv[2]);
}

/** The headers that carry the job's credentials. */
export function headers({ clientId, clientSecret }) {
  return clientId ? { clientId, clientSecret } : {};
}

/** Compiles every schema of the tools in strict mode; throws on the first that does not compile. */
export function judge(tools) {
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, allErrors: true });
  addFormats(ajv);
  const outputs = new Map();
  for (const tool of tools) {
    ajv.compile(tool.inputSchema);
    if (tool.outputSchema) outputs.set(tool.name, ajv.compile(tool.outputSchema));
  }
  return {
    /** Says whether a result fits what its tool declared: structured content that validates, or none where none is declared. */
    fits(tool, result) {
      const validate = outputs.get(tool.name);
      if (!validate) return result.structuredContent === undefined ? "" : "structured content without an output schema";
      if (result.isError) return "";
      if (result.structuredContent === undefined) return "no structured content in spite of an output schema";
      return validate(result.structuredContent) ? "" : ajv.errorsText(validate.errors);
    },
  };
}

/** Lists page by page through `page(cursor)`, runs the job's calls through `call(name, arguments)`, prints the report. */
export async function drive(request, { page, call, info }) {
  const tools = [];
  let pages = 0;
  let cursor;
  do {
    const result = await page(cursor);
    tools.push(...result.tools);
    cursor = result.nextCursor;
    pages += 1;
  } while (cursor !== undefined);
  const ajv = judge(tools);
  const results = [];
  for (const { title, arguments: args } of request.calls ?? []) {
    const tool = tools.find((t) => t.title === title);
    if (!tool) throw new Error(`no tool titled ${title}`);
    const result = await call(tool.name, args);
    results.push({ title, result, unfit: ajv.fits(tool, result) });
  }
  console.log(JSON.stringify({ ...info, pages, tools, results }));
}
