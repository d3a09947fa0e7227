/*
 * The official TypeScript SDK (v1) as a host: connects over stdio, checks every answer against the
 * declared output schema (the SDK does), and plays an agent's work.
 *
 *     node client.mjs NODE_MODULES SIRIX_MCP DIR DATABASE RESOURCE
 *
 * DATABASE/RESOURCE holds {"users":[{"name":"Alice"},{"name":"Bob"}]} at its newest revision.
 */
import assert from "node:assert/strict";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [modules, program, directory, database, resource] = process.argv.slice(2);
const sdk = (name) =>
  import(pathToFileURL(path.join(modules, "@modelcontextprotocol/sdk/dist/esm/client", name)).href);
const { Client } = await sdk("index.js");
const { StdioClientTransport } = await sdk("stdio.js");
const where = { database, resource };

async function connect(...more) {
  const transport = new StdioClientTransport({
    command: program,
    args: ["--database-path", directory, ...more],
    stderr: "ignore",
  });
  const client = new Client({ name: "sdk-test", version: "1.0.0" });
  await client.connect(transport);
  return client;
}

async function call(client, name, more = {}) {
  const result = await client.callTool({ name, arguments: { ...where, ...more } });
  assert.equal(result.isError, false, JSON.stringify(result));
  const text = result.content[0].text.split("\n");
  assert.deepEqual(JSON.parse(text.slice(2, -1).join("\n")), result.structuredContent);
  return result.structuredContent;
}

async function readOnly() {
  const client = await connect();
  const { tools } = await client.listTools();
  assert.ok(tools.length > 0);
  assert.ok(tools.every((tool) => tool.annotations.readOnlyHint));
  await client.ping();
  const lists = await client.callTool({ name: "sirix_list_databases", arguments: {} });
  assert.ok(lists.structuredContent.databases.some((item) => item.name === database));
  await client.callTool({ name: "status", arguments: {} });
  await client.callTool({ name: "sirix_list_resources", arguments: { database } });
  await call(client, "sirix_resource_info");
  await call(client, "sirix_list_snapshots");
  await call(client, "sirix_list_branches");
  const read = await call(client, "sirix_read_node");
  assert.deepEqual(read.value, { users: [{ name: "Alice" }, { name: "Bob" }] });
  await assert.rejects(client.callTool({ name: "sirix_insert", arguments: where }), /-32602/);
  const failed = await client.callTool({
    name: "sirix_read_node",
    arguments: { ...where, nodeKey: 99999 },
  });
  assert.equal(failed.isError, true);
  await assert.rejects(client.request({ method: "server/discover" }, { parse: (x) => x }));
  await client.close();
}

async function readWrite() {
  const client = await connect("--read-write");
  const label = await call(client, "sirix_create_snapshot", { name: "before" });
  const users = await call(client, "sirix_read_node", { path: "/users" });
  await call(client, "sirix_insert", {
    parentNodeKey: users.nodeKey,
    position: "last_child",
    data: { name: "Carol", tags: ["new", null, true, 1.5] },
  });
  await call(client, "sirix_update", {
    nodeKey: users.children[0].children[0].nodeKey,
    value: "Alicia",
  });
  await call(client, "sirix_delete", { nodeKey: users.children[1].nodeKey });
  const diff = await call(client, "sirix_diff", { from_snapshot: "before" });
  assert.deepEqual([diff.inserts, diff.deletes, diff.updates], [1, 1, 1]);
  await call(client, "sirix_diff", { from_snapshot: "before", format: "json-patch" });
  const reverted = await call(client, "sirix_revert", { snapshot: "before" });
  assert.equal(reverted.revertedTo, label.revision);
  assert.equal((await call(client, "sirix_diff", { from_snapshot: "before" })).count, 0);
  await call(client, "sirix_create_branch", { name: "try" });
  await call(client, "sirix_promote", { branch: "try" });
  await call(client, "sirix_delete_branch", { name: "try" });
  await call(client, "sirix_delete_snapshot", { name: "before" });
  await call(client, "sirix_create_resource", { resource: "another" });
  const history = await call(client, "sirix_history", { count: 2 });
  assert.equal(history.count, 2);
  await client.close();
}

await readOnly();
await readWrite();
console.log("ok");
