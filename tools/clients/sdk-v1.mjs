// Drives the edge with the TypeScript SDK, version 1.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { drive, headers, job } from "./lib.mjs";

const request = job();
const client = new Client({ name: "sallyport-test-v1", version: "1.0.0" });
const transport = new StreamableHTTPClientTransport(new URL(request.url), { requestInit: { headers: headers(request) } });
await client.connect(transport);
await client.ping();
await drive(request, {
  page: (cursor) => client.listTools(cursor === undefined ? {} : { cursor }),
  call: (name, args) => client.callTool({ name, arguments: args }),
  info: { server: client.getServerVersion(), instructions: client.getInstructions(), protocolVersion: transport.protocolVersion },
});
await client.close();
