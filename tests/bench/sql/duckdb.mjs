// DuckDB over the same JSON: duckdb.mjs NODE_MODULES RECORDS OTHERS ROUNDS. Prints "name value", ms.
import { createRequire } from "node:module";
import { join } from "node:path";

const [modules, records, others, rounds] = process.argv.slice(2);
const { DuckDBInstance } = createRequire(join(modules, "x.js"))("@duckdb/node-api");
const r = `read_json('${records}.lines', format='newline_delimited', maximum_object_size=1048576)`;
const o = `read_json('${others}.lines', format='newline_delimited')`;
const questions = {
  count: `SELECT count(*) FROM ${r}`,
  filter: `SELECT count(*), avg(balance) FROM ${r} WHERE active AND balance > 50000`,
  group: `SELECT state, count(*), sum(id) FROM ${r} GROUP BY state ORDER BY state`,
  join: `SELECT o.level, count(*), sum(r.id) FROM ${o} o JOIN ${r} r ON r.id = o.ref GROUP BY o.level ORDER BY o.level`,
  sort: `SELECT id FROM ${r} ORDER BY balance DESC, id LIMIT 5`,
};
const connection = await (await DuckDBInstance.create(":memory:", { threads: "1" })).connect();
for (const [name, sql] of Object.entries(questions)) {
  const times = [];
  for (let i = 0; i < Number(rounds); i++) {
    const begin = process.hrtime.bigint();
    await (await connection.runAndReadAll(sql)).getRows();
    times.push(Number(process.hrtime.bigint() - begin) / 1e6);
  }
  times.sort((a, b) => a - b);
  console.log(`duckdb_${name}_ms ${times[Math.floor(times.length / 2)]}`);
}
