// A client of storaged in Node that knows nothing of its .proto files: it asks the server for them.
//
//     node by_reflection.js ADDRESS
//
// Needs @grpc/grpc-js and @grpc/proto-loader (npm ci).
const grpc = require("@grpc/grpc-js");
const loader = require("@grpc/proto-loader");

const address = process.argv[2];
const credentials = grpc.credentials.createInsecure();
const STORAGE = "sirix.storage.v1.Storage";

// The question to the reflection service and its answer are so small that they are taken apart by hand.
function field(number, data) {
  const head = [(number << 3) | 2];
  let size = data.length;
  for (; size > 127; size >>= 7) head.push((size & 127) | 128);
  return Buffer.concat([Buffer.from([...head, size]), data]);
}

function* fields(data) {
  let at = 0;
  const varint = () => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      value |= (data[at] & 127) << shift;
      if (data[at++] < 128) return value;
    }
  };
  while (at < data.length) {
    const key = varint();
    if ((key & 7) === 0) {
      varint();
    } else {
      const size = varint();
      yield [key >> 3, data.subarray(at, at + size)];
      at += size;
    }
  }
}

const raw = (data) => data;
const Reflection = grpc.makeGenericClientConstructor({
  ask: {
    path: "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    requestStream: true, responseStream: true,
    requestSerialize: raw, requestDeserialize: raw, responseSerialize: raw, responseDeserialize: raw,
  },
}, "Reflection");

// A FileDescriptorSet with the file that has a symbol, and those that it needs.
async function describe(symbol) {
  const client = new Reflection(address, credentials);
  const call = client.ask({ deadline: Date.now() + 30000 });
  call.write(field(4, Buffer.from(symbol))); // file_containing_symbol
  call.end();
  const files = [];
  for await (const answer of call)
    for (const [number, data] of fields(answer))
      if (number === 4) for (const [, file] of fields(data)) files.push(field(1, file));
  client.close();
  return Buffer.concat(files);
}

async function main() {
  const definition = loader.loadFileDescriptorSetFromBuffer(await describe(STORAGE), { defaults: true });
  const service = definition[STORAGE];
  const Storage = grpc.makeGenericClientConstructor(service, "Storage");
  const storage = new Storage(address, credentials);
  const status = await new Promise((done, fail) => storage.Status(
    {}, { deadline: Date.now() + 30000 }, (error, answer) => (error ? fail(error) : done(answer))));
  console.log("calls: " + Object.keys(service).length);
  console.log("principal: " + status.principal);
  storage.close();
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
