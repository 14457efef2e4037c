// Drives the edge with the TypeScript SDK, version 2. Its listTools gathers all pages by itself, so single pages are
// asked for as plain requests.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { drive, headers, job } from "./lib.mjs";

const request = job();
const options = request.versionNegotiation ? { versionNegotiation: request.versionNegotiation } : {};
const client = new Client({ name: "sallyport-test-v2", version: "1.0.0" }, options);
const transport = new StreamableHTTPClientTransport(new URL(request.url), { requestInit: { headers: headers(request) } });
await client.connect(transport);
await drive(request, {
  page: (cursor) => client.request({ method: "tools/list", params: cursor === undefined ? {} : { cursor } }),
  call: (name, args) => client.callTool({ name, arguments: args }),
  info: { server: client.getServerVersion(), instructions: client.getInstructions(), gathered: (await client.listTools()).tools.length },
});
await client.close();
