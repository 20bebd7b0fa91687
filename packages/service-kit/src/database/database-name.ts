import type { Queryable } from "./database.ts";

/** Returns the database's name on the server, which is not the connection's name for it if that is an alias of a router. */
export async function readDatabaseName(client: Queryable): Promise<string> {
  const { rows } = await client.query<{ name: string }>("SELECT current_database()::text AS name");
  return rows[0]?.name ?? "";
}
