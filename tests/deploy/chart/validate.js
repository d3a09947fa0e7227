// Reads manifests as JSON lines from stdin and checks each against Kubernetes' own schema of its kind, as
// the npm packages of this folder's lock hold them; prints what is wrong, or the number of manifests.
//
//	validate.js NODE_MODULES        values: validate.js NODE_MODULES SCHEMA VALUES.json
const child = require("child_process");
const fs = require("fs");
const os = require("os");
const path = require("path");

const modules = process.argv[2];
const load = (name) => require(path.join(modules, name));

function folderOf(apiVersion) {
  const [group, version] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
  if (group === "monitoring.coreos.com") return ["@kubernetes-models/prometheus-operator", group, version];
  return ["kubernetes-models", group, version];
}

function check(manifest) {
  const [pack, group, version] = folderOf(manifest.apiVersion);
  const models = load(path.join(pack, group, version));
  const Model = models[manifest.kind];
  if (!Model) return [`${manifest.apiVersion} ${manifest.kind} is not known`];
  try {
    new Model(manifest).validate();
  } catch (error) {
    return [`${manifest.kind}: ${error.message}`];
  }
  return [];
}

if (process.argv.length === 5) {
  const Ajv = load("ajv");
  const ajv = new (Ajv.default || Ajv)({ allErrors: true, strict: true, allowUnionTypes: true });
  const test = ajv.compile(JSON.parse(fs.readFileSync(process.argv[3], "utf8")));
  if (!test(JSON.parse(fs.readFileSync(process.argv[4], "utf8")))) {
    console.log(ajv.errorsText(test.errors));
    process.exit(1);
  }
  process.exit(0);
}

// The schemas let unknown fields pass; the packages' types, in literals, do not.
function unknownFields(manifests) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "sirix_chart_"));
  const file = path.join(folder, "manifests.ts");
  fs.symlinkSync(modules, path.join(folder, "node_modules"));
  const text = manifests.map((manifest, i) => {
    const type = `import(${JSON.stringify(folderOf(manifest.apiVersion).join("/").replace("//", "/"))}).I${manifest.kind}`;
    return `export const m${i}: ${type} = ${JSON.stringify(manifest, null, 1)};\n`;
  });
  fs.writeFileSync(file, text.join(""));
  const tsc = path.join(modules, "typescript", "bin", "tsc");
  const done = child.spawnSync(process.execPath, [tsc, "--noEmit", "--skipLibCheck", "--strict",
    "--module", "esnext", "--moduleResolution", "bundler", file], { encoding: "utf8" });
  fs.rmSync(folder, { recursive: true });
  return done.status === 0 ? [] : done.stdout.split("\n").filter((line) => line !== "");
}

const lines = fs.readFileSync(0, "utf8").split("\n").filter((line) => line !== "");
const manifests = lines.map((line) => JSON.parse(line));
const found = [...manifests.flatMap(check), ...unknownFields(manifests)];
found.forEach((text) => console.log(text));
if (found.length === 0) console.log(`${lines.length} manifests`);
process.exit(found.length === 0 ? 0 : 1);
