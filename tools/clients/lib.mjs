// What the client drivers share: the job they are given, ajv as a neutral judge of schemas and results, and the
// conversation that each client has with the edge. The drivers are here because Node looks for packages from a
// script's own folder upwards; test/clients starts them and judges what they report.
import Ajv2020 from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

/**
 * The job, as JSON in the first argument: {url, clientId, clientSecret, negotiation, noAbort, keys, attendees,
 * calls: [{title, arguments}]}. noAbort says that an abort leaves the request open.
 */
export function job() {
  return JSON.parse(process.argv[2]);
}

/** The options of a transport that carries the job's credentials, and the list in which it notes what it exchanges. */
export function wire({ clientId, clientSecret }) {
  const exchanges = [];
  const noted = async (url, init) => {
    const message = init?.body ? JSON.parse(init.body) : {};
    const sent = new Headers(init?.headers);
    const exchange = {
      verb: init?.method ?? "GET",
      method: message.method ?? "",
      name: message.params?.name ?? "",
      version: sent.get("mcp-protocol-version") ?? "",
      token: message.params?._meta?.progressToken !== undefined,
      params: Object.fromEntries([...sent].filter(([name]) => name.startsWith("mcp-param-"))),
    };
    exchanges.push(exchange);
    const response = await fetch(url, init);
    exchange.status = response.status;
    exchange.type = response.headers.get("content-type") ?? "";
    return response;
  };
  return { exchanges, options: { fetch: noted, requestInit: { headers: { clientId, clientSecret } } } };
}

/** Compiles every schema of the tools in strict mode; throws on the first that does not compile. */
function judge(tools) {
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, allErrors: true });
  addFormats(ajv);
  ajv.addKeyword("x-mcp-header"); // a note to clients (mcp-protocol.md 2.6), which judges nothing
  const outputs = new Map();
  for (const tool of tools) {
    ajv.compile(tool.inputSchema);
    if (tool.outputSchema) outputs.set(tool.name, ajv.compile(tool.outputSchema));
  }
  /** Says how a result does not fit what its tool declared: structured content that validates, or none where none is declared. */
  return (tool, result) => {
    const validate = outputs.get(tool.name);
    if (!validate) return result.structuredContent === undefined ? "" : "structured content without an output schema";
    if (result.isError) return "";
    if (result.structuredContent === undefined) return "no structured content in spite of an output schema";
    return validate(result.structuredContent) ? "" : ajv.errorsText(validate.errors);
  };
}

/**
 * Has the whole conversation through page(cursor), call(name, arguments, options) and close(), and prints the report.
 * options are the SDKs' own: {onprogress, signal}.
 */
export async function converse(request, { page, call, close, exchanges, info }) {
  const tools = [];
  let pages = 0;
  let cursor;
  do {
    const result = await page(cursor);
    tools.push(...result.tools);
    cursor = result.nextCursor;
    pages += 1;
  } while (cursor !== undefined);

  const objection = judge(tools);
  const use = async (title, args, options) => {
    const tool = tools.find((t) => t.title === title);
    if (!tool) throw new Error(`no tool titled ${title}`);
    const result = await call(tool.name, args, options);
    return { ...result, unfit: objection(tool, result) };
  };
  const { keys } = request;
  const report = { ...info, pages, tools, results: [] };
  for (const { title, arguments: args } of request.calls) report.results.push(await use(title, args));
  report.unknownCode = await call("nobody", {}).then(() => 0, (error) => error.code);

  // Three signs of life, then the call is told to finish, on the same session.
  report.signs = [];
  let told;
  report.counted = await use("Workshop Count", { key: keys.count }, {
    onprogress: (sign) => {
      report.signs.push(sign);
      if (report.signs.length === 3) told = use("Workshop Finish", { key: keys.count });
    },
  });
  await told;
  [report.silent] = await Promise.all([
    use("Workshop Count", { key: keys.silent }),
    use("Workshop Await Begin", { key: keys.silent }).then(() => use("Workshop Finish", { key: keys.silent })),
  ]);

  // Three calls that return only when all three are there.
  const { attendees } = request;
  const met = await Promise.all(attendees.map((name) => use("Workshop Meet", { key: keys.meet, expected: attendees.length, name })));
  report.met = met.map((result) => result.structuredContent?.name);
  report.shown = await use("Workshop Show", {});

  const aborted = async (title, key, abortion) => {
    const controller = new AbortController();
    const running = use(title, { key }, { signal: controller.signal, ...abortion(() => controller.abort("the test aborts")) });
    const error = await running.then(() => "", String);
    if (request.noAbort) await use("Workshop Finish", { key });
    await use("Workshop Await End", { key });
    return error;
  };
  report.aborted = {
    waiting: await aborted("Workshop Wait", keys.waiting, (abort) => {
      use("Workshop Await Begin", { key: keys.waiting }).then(abort);
      return {};
    }),
    counting: await aborted("Workshop Count", keys.counting, (abort) => {
      let heard = 0;
      return { onprogress: () => { if (++heard === 2) abort(); } };
    }),
  };
  report.still = await use(request.calls[0].title, request.calls[0].arguments);

  const left = use("Workshop Wait", { key: keys.closing }).then(() => "succeeded", () => "");
  await use("Workshop Await Begin", { key: keys.closing });
  await close();
  if (await left) throw new Error("a call succeeded although its client was closed");
  console.log(JSON.stringify({ ...report, exchanges }));
}
