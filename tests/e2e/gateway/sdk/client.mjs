/*
 * The official TypeScript SDKs as hosts: connect, check every answer against the declared output schema
 * (the SDKs do), and play an agent's work.
 *
 *     node client.mjs NODE_MODULES SDK MODE TARGET DATABASE RESOURCE
 *
 * SDK is v1 or v2. MODE is for v2: legacy, auto, or a protocol revision that is pinned. TARGET is
 * `stdio PROGRAM DIR` or `http READER_URL WRITER_URL`. DATABASE/RESOURCE holds
 * {"users":[{"name":"Alice"},{"name":"Bob"}]} at its newest revision.
 */
import assert from "node:assert/strict";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [modules, sdk, mode, transportKind, first, second, database, resource] =
  process.argv.slice(2);
const load = (name) =>
  import(pathToFileURL(path.join(modules, "@modelcontextprotocol", name)).href);
const where = { database, resource };

async function parts() {
  if (sdk === "v1") {
    const folder = "sdk/dist/esm/client";
    return {
      ...(await load(`${folder}/index.js`)),
      ...(await load(`${folder}/stdio.js`)),
      ...(await load(`${folder}/streamableHttp.js`)),
    };
  }
  return { ...(await load("client/dist/index.mjs")), ...(await load("client/dist/stdio.mjs")) };
}

const { Client, StdioClientTransport, StreamableHTTPClientTransport } = await parts();

function transport(...more) {
  if (transportKind === "http") {
    return new StreamableHTTPClientTransport(new URL(more.length === 0 ? first : second));
  }
  return new StdioClientTransport({
    command: first,
    args: ["--database-path", second, ...more],
    stderr: "ignore",
  });
}

async function connect(...more) {
  const negotiation = { auto: "auto", legacy: "legacy" }[mode] ?? { pin: mode };
  const options = sdk === "v1" ? {} : { versionNegotiation: { mode: negotiation } };
  const client = new Client({ name: "sdk-test", version: "1.0.0" }, options);
  await client.connect(transport(...more));
  if (sdk === "v2") {
    assert.equal(client.getProtocolEra(), mode === "legacy" ? "legacy" : "modern");
  }
  return client;
}

async function call(client, name, more = {}) {
  const result = await client.callTool({ name, arguments: { ...where, ...more } });
  assert.equal(result.isError, false, JSON.stringify(result));
  const text = result.content[0].text.split("\n");
  assert.deepEqual(JSON.parse(text.slice(2, -1).join("\n")), result.structuredContent);
  const { confirmToken } = result.structuredContent;
  if (confirmToken !== undefined) {
    assert.equal(more.confirmToken, undefined);
    return call(client, name, { ...more, confirmToken });
  }
  return result.structuredContent;
}

// The SDK itself holds answers and refusals against the output schema.
async function askInSql(client, tools) {
  assert.ok(tools.some((tool) => tool.name === "store_query"));
  const sql = `SELECT name FROM "${resource}/users" ORDER BY name DESC`;
  for (const name of ["store_query", "store.query"]) {
    const answer = (await client.callTool({ name, arguments: { sql } })).structuredContent;
    assert.deepEqual([answer.status, answer.rows], ["ok", [["Bob"], ["Alice"]]]);
  }
  const refused = await client.callTool({
    name: "store_query",
    arguments: { sql: `DELETE FROM "${resource}/users"` },
  });
  assert.equal(refused.isError, true);
  assert.equal(refused.structuredContent.status, "invalid");
  assert.equal(refused.structuredContent.code, "sql_refused");
  const described = await client.callTool({
    name: "catalog_describe",
    arguments: { table: `${resource}/users` },
  });
  assert.equal(described.structuredContent.columns[1].name, "name");
  await client.callTool({ name: "catalog_tables", arguments: {} });
  await client.callTool({ name: "catalog_search", arguments: { words: "name" } });
}

async function readOnly() {
  const client = await connect();
  const { tools } = await client.listTools();
  assert.ok(tools.length > 0);
  assert.ok(tools.every((tool) => tool.annotations.readOnlyHint));
  if (sdk === "v1" || mode === "legacy") {
    await client.ping();
  }
  const lists = await client.callTool({ name: "sirix_list_databases", arguments: {} });
  assert.ok(lists.structuredContent.databases.some((item) => item.name === database));
  await client.callTool({ name: "status", arguments: {} });
  await client.callTool({ name: "sirix_list_resources", arguments: { database } });
  await call(client, "sirix_resource_info");
  await call(client, "sirix_list_snapshots");
  await call(client, "sirix_list_branches");
  const read = await call(client, "sirix_read_node");
  assert.deepEqual(read.value, { users: [{ name: "Alice" }, { name: "Bob" }] });
  await askInSql(client, tools);
  await assert.rejects(
    client.callTool({ name: "sirix_insert", arguments: where }),
    (error) => error.code === -32602,
  );
  const failed = await client.callTool({
    name: "sirix_read_node",
    arguments: { ...where, nodeKey: 99999 },
  });
  assert.equal(failed.isError, true);
  const uri = `sirix:///${database}/${resource}/info`;
  const content = await client.readResource({ uri });
  assert.equal(JSON.parse(content.contents[0].text).resource, resource);
  assert.ok((await client.listResources()).resources.length >= 2);
  assert.equal((await client.listResourceTemplates()).resourceTemplates.length, 5);
  assert.ok((await client.listPrompts()).prompts.some((prompt) => prompt.name === "time_travel"));
  const prompt = await client.getPrompt({ name: "time_travel", arguments: where });
  assert.match(prompt.messages[0].content.text, /revisions? spanning from/);
  const { completion } = await client.complete({
    ref: { type: "ref/prompt", name: "time_travel" },
    argument: { name: "database", value: database.slice(0, 1) },
  });
  assert.deepEqual(completion.values, [database]);
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
  await call(client, "sirix_create_resource", { resource: `${resource}-another` });
  const history = await call(client, "sirix_history", { count: 2 });
  assert.equal(history.count, 2);
  await client.close();
}

await readOnly();
await readWrite();
console.log("ok");
