// DuckDB as a process of its own: a line of SQL as JSON in, its rows as one line of JSON out.
import { createInterface } from "node:readline";
import { createRequire } from "node:module";

const [modules, file] = process.argv.slice(2);
const { DuckDBInstance } = createRequire(modules + "/")("@duckdb/node-api");
const instance = await DuckDBInstance.create(file);
const connection = await instance.connect();

for await (const line of createInterface({ input: process.stdin })) {
    const reader = await connection.runAndReadAll(JSON.parse(line));
    const rows = reader.getRowsJson().map((row) => row[0]);
    process.stdout.write(JSON.stringify(rows) + "\n");
}
