// A client of storaged in Node, from the .proto files.
//
//     node by_proto.js ADDRESS PROTO_FOLDER
//
// ADDRESS is unix:PATH or HOST:PORT. Needs @grpc/grpc-js and @grpc/proto-loader (npm ci). A token in the
// variable SIRIX_TOKEN is shown to the server.
const grpc = require("@grpc/grpc-js");
const loader = require("@grpc/proto-loader");

const [address, folder] = process.argv.slice(2);
const options = { includeDirs: [folder], keepCase: true, longs: Number, oneofs: true, defaults: true };
const load = (file) =>
  grpc.loadPackageDefinition(loader.loadSync(file, options)).sirix.storage.v1;
const storage = new (load("sirix/storage/v1/storage.proto").Storage)(
  address, grpc.credentials.createInsecure());
const errors = loader.loadSync("sirix/storage/v1/error.proto", options);
const decode = (name, data) => errors["sirix.storage.v1." + name].deserialize(data);

const metadata = new grpc.Metadata();
if (process.env.SIRIX_TOKEN) metadata.set("authorization", "Bearer " + process.env.SIRIX_TOKEN);
const deadline = () => ({ deadline: Date.now() + 30000 });
const unary = (name, request) => new Promise((done, fail) =>
  storage[name](request, metadata, deadline(), (error, answer) => (error ? fail(error) : done(answer))));

async function all(name, request) {
  const parts = [];
  for await (const part of storage[name](request, metadata, deadline())) parts.push(part);
  return parts;
}

function importText(start, text) {
  return new Promise((done, fail) => {
    const call = storage.Import(metadata, deadline(), (error, answer) => (error ? fail(error) : done(answer)));
    call.write({ start });
    call.write({ data: Buffer.from(text) });
    call.end();
  });
}

async function main() {
  const place = { database: Buffer.from("node"), resource: Buffer.from("users") };
  const bytes = (text) => Buffer.from(text);

  // A text of any size as one revision: the start, then pieces.
  await importText({ ...place, options: { message: bytes("import") } }, '[{"name":"Ann","age":31}]');

  // A change: the node by its path, then the change by its key. The idempotency key makes it safe to send again.
  const { nodes: [age] } = await unary("ReadNode", { ...place, path: bytes("/[0]/age") });
  await unary("Apply", {
    ...place,
    operations: [{ update: { node_key: age.node_key, value: { json: bytes("32") } } }],
    options: { message: bytes("birthday"), idempotency_key: bytes("birthday-1") },
  });

  const { revisions } = await unary("History", place);
  for (const revision of revisions.reverse())
    console.log(`revision ${revision.revision}: ${revision.message}`);

  const parts = await all("ReadDocument", { ...place, view: { revision: 1 } });
  console.log("text of 1: " + Buffer.concat(parts.map((part) => part.data || bytes(""))));

  const answers = await all("Query", { ...place, query: bytes("$$[].age") });
  const items = answers.flatMap((part) => (part.items ? part.items.items : []));
  console.log("query: " + items.map((item) => item.json.toString()).join(" "));

  try {
    await unary("ListResources", { database: bytes("none") });
  } catch (error) {
    // What a program can use of an error: the stable names of docs/errors.md.
    const status = decode("ErrorStatus", error.metadata.get("grpc-status-details-bin")[0]);
    const detail = decode("ErrorDetail", status.details[0].value);
    console.log(`error: ${detail.status} ${detail.reason}`);
  }
  storage.close();
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
