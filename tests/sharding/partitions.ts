import type { TestDatabase } from "@parley/test-support";
import { query } from "../system/database.ts";
import type { Table } from "./catalog.ts";

/** Makes partitioned tables of empty ones: each row is to lie in one of `count` parts by its workspace, and nothing else about them changes. */
export async function partitionByWorkspace(
  database: TestDatabase,
  tables: readonly Table[],
  count: number,
): Promise<void> {
  const whole = (name: string) => `${name}_whole`;
  const parts = Array.from({ length: count }, (_, part) => part);
  const statements = [
    ...tables.map(({ name }) => `ALTER TABLE ${name} RENAME TO ${whole(name).split(".")[1]}`),
    ...tables.map(
      ({ name }) => `CREATE TABLE ${name} (LIKE ${whole(name)} INCLUDING ALL) PARTITION BY HASH (workspace_id)`,
    ),
    ...tables.flatMap(({ name }) =>
      parts.map(
        (part) =>
          `CREATE TABLE ${name}_${part} PARTITION OF ${name} FOR VALUES WITH (MODULUS ${count}, REMAINDER ${part})`,
      ),
    ),
    ...tables.flatMap(({ name, references }) =>
      references.map(({ definition }) => `ALTER TABLE ${name} ADD ${definition}`),
    ),
    `DROP TABLE ${tables.map(({ name }) => whole(name)).join(", ")}`,
  ];
  await query(database, statements.join(";\n"));
}
