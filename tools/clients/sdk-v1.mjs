// Drives the edge with the TypeScript SDK, version 1.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { converse, job, wire } from "./lib.mjs";

const request = job();
const { exchanges, options } = wire(request);
const client = new Client({ name: "sallyport-test-v1", version: "1.0.0" });
const transport = new StreamableHTTPClientTransport(new URL(request.url), options);
await client.connect(transport);
await client.ping();
await converse(request, {
  page: (cursor) => client.listTools(cursor === undefined ? {} : { cursor }),
  call: (name, args, options) => client.callTool({ name, arguments: args }, undefined, options),
  close: () => client.close(),
  exchanges,
  info: { version: transport.protocolVersion, server: client.getServerVersion(), instructions: client.getInstructions() },
});
