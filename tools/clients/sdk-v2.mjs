// Drives the edge with the TypeScript SDK, version 2. Its listTools gathers all pages by itself, so single pages are
// asked for as plain requests.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { converse, job, wire } from "./lib.mjs";

const request = job();
const { exchanges, options } = wire(request);
// The probe has a timeout of its own, which a loaded machine must not run into.
const versionNegotiation = { mode: request.negotiation, probe: { timeoutMs: 60_000 } };
const client = new Client({ name: "sallyport-test-v2", version: "1.0.0" }, { versionNegotiation });
await client.connect(new StreamableHTTPClientTransport(new URL(request.url), options));
await converse(request, {
  page: (cursor) => client.request({ method: "tools/list", params: cursor === undefined ? {} : { cursor } }),
  call: (name, args, options) => client.callTool({ name, arguments: args }, options),
  close: () => client.close(),
  exchanges,
  info: {
    version: client.getNegotiatedProtocolVersion(),
    server: client.getServerVersion(),
    instructions: client.getInstructions(),
    gathered: (await client.listTools()).tools.length,
  },
});
