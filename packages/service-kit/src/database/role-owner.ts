import pg from "pg";

/**
 * The database and the installation to which a service's role belongs. Roles belong to the whole server: if the migrations of another database
 * set a role's password, the services of the first database could open no more connections.
 */
export type RoleOwner = {
  database: string;
  /** The installation's name, such as `chat/parley` (namespace and release); empty if it has none. */
  installation: string;
  /** Set if the role is used in the databases of several shards. `database` is then the name of the sharded database, which no server has. */
  isSharded?: true;
};

/** The comment on a role starts with this word; the rest is the owner as JSON. */
const MARK = "Parley ";

/**
 * Throws if the role is marked with another owner. The mark of a database that no longer exists counts as none. With `mustBeUnused`, an existing
 * role without a mark must not be in use in another database either.
 */
export async function assertRoleIsOwn(
  client: pg.Client,
  role: string,
  owner: RoleOwner,
  { mustBeUnused = false } = {},
): Promise<void> {
  const mark = await readMark(client, role);
  if (mark !== undefined) {
    if (!isForeign(mark, owner) || !(mark.isSharded || (await databaseExists(client, mark.database)))) return;
    throw new Error(
      `role ${role} belongs to ${describe(mark)}, and this is ${describe(owner)}; ${remedy(role, owner, mark)}`,
    );
  }
  const others = mustBeUnused ? await findOtherDatabases(client, role) : [];
  if (others.length === 0) return;
  throw new Error(
    `role ${role} has privileges in database ${others.join(" and database ")}, and this is ${describe(owner)}; ${remedy(role, owner)}`,
  );
}

/** Returns the statement that marks the role with its owner. */
export async function buildMarkStatement(client: pg.Client, role: string, owner: RoleOwner): Promise<string> {
  const mark = await readMark(client, role);
  // A run by hand has no installation's name and keeps the one that the role has.
  return markStatement(role, { ...owner, installation: owner.installation || (mark?.installation ?? "") });
}

function markStatement(role: string, { database, installation, isSharded }: RoleOwner): string {
  const mark = MARK + JSON.stringify({ database, installation, isSharded });
  return `COMMENT ON ROLE ${pg.escapeIdentifier(role)} IS ${pg.escapeLiteral(mark)};`;
}

async function readMark(client: pg.Client, role: string): Promise<RoleOwner | undefined> {
  const { rows } = await client.query<{ comment: string | null }>(
    "SELECT shobj_description(oid, 'pg_authid') AS comment FROM pg_roles WHERE rolname = $1",
    [role],
  );
  const comment = rows[0]?.comment ?? "";
  if (!comment.startsWith(MARK)) return undefined;
  try {
    const { database, installation, isSharded } = JSON.parse(comment.slice(MARK.length)) as Record<string, unknown>;
    const mark = { database: String(database), installation: String(installation ?? "") };
    return isSharded === true ? { ...mark, isSharded } : mark;
  } catch {
    // Somebody else's comment that starts with the same word.
    return undefined;
  }
}

function isForeign(mark: RoleOwner, owner: RoleOwner): boolean {
  const bothNamed = mark.installation !== "" && owner.installation !== "";
  return mark.database !== owner.database || (bothNamed && mark.installation !== owner.installation);
}

async function databaseExists(client: pg.Client, name: string): Promise<boolean> {
  const { rows } = await client.query("SELECT FROM pg_database WHERE datname = $1", [name]);
  return rows.length > 0;
}

/** Returns the other databases of the server in which the role has privileges or owns something. */
async function findOtherDatabases(client: pg.Client, role: string): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT DISTINCT datname::text AS name
     FROM pg_shdepend JOIN pg_database ON pg_database.oid = CASE WHEN dbid <> 0 THEN dbid
                                                                 WHEN classid = 'pg_database'::regclass THEN objid END
     WHERE refclassid = 'pg_authid'::regclass AND refobjid = (SELECT oid FROM pg_roles WHERE rolname = $1)
       AND datname <> current_database()
     ORDER BY name`,
    [role],
  );
  return rows.map(({ name }) => name);
}

function describe({ database, installation }: RoleOwner): string {
  return `database ${database}${installation === "" ? "" : `, installation ${installation}`}`;
}

function remedy(role: string, owner: RoleOwner, mark?: RoleOwner): string {
  const separate =
    mark?.database === owner.database
      ? "a database and roles of its own (chart: database.name and database.rolePrefix)"
      : "roles of its own (DATABASE_ROLE_PREFIX; chart: database.rolePrefix)";
  return (
    `give this installation ${separate}, or, if nothing else uses the role any more, ` +
    `run as a role that may alter it: ${markStatement(role, owner)}`
  );
}
