import type { TestDatabase } from "@parley/test-support";
import { queryFirstRow } from "../system/database.ts";
import type { Table } from "./catalog.ts";

/**
 * Replaces empty tables with partitioned copies. A copy has the same columns, keys and indexes, and `count` hash partitions by
 * workspace_id.
 */
export async function partitionByWorkspace(
  database: TestDatabase,
  tables: readonly Table[],
  count: number,
): Promise<void> {
  const oldName = (name: string) => `${name}_unpartitioned`;
  const remainders = Array.from({ length: count }, (_, remainder) => remainder);
  const statements = [
    ...tables.map(({ name }) => `ALTER TABLE ${name} RENAME TO ${oldName(name).split(".")[1]}`),
    ...tables.map(
      ({ name }) => `CREATE TABLE ${name} (LIKE ${oldName(name)} INCLUDING ALL) PARTITION BY HASH (workspace_id)`,
    ),
    ...tables.flatMap(({ name }) =>
      remainders.map(
        (remainder) =>
          `CREATE TABLE ${name}_${remainder} PARTITION OF ${name} FOR VALUES WITH (MODULUS ${count}, REMAINDER ${remainder})`,
      ),
    ),
    ...tables.flatMap(({ name, references }) =>
      references.map(({ definition }) => `ALTER TABLE ${name} ADD ${definition}`),
    ),
    `DROP TABLE ${tables.map(({ name }) => oldName(name)).join(", ")}`,
  ];
  await queryFirstRow(database, statements.join(";\n"));
}
