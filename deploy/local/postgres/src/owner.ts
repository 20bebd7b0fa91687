import { LocalPostgresError } from "./errors.ts";
import { run, type SystemUser } from "./run.ts";

const USER_NAMES = ["postgres", "parley"];

/**
 * Returns an unprivileged user for the server, which refuses to run as root: `postgres` or `parley` if one exists, or else a new system
 * user `parley`.
 */
export async function ensureUnprivilegedUser(): Promise<SystemUser> {
  for (const name of USER_NAMES) {
    const owner = await findUser(name);
    if (owner) return owner;
  }
  const failures: unknown[] = [];
  for (const [command, ...args] of [
    ["useradd", "--system", "--user-group", "--no-create-home", "--shell", "/usr/sbin/nologin", "parley"],
    ["adduser", "--system", "--group", "--no-create-home", "parley"],
  ] as const) {
    await run(command, [...args]).catch((error: unknown) => failures.push(error));
    const owner = await findUser("parley");
    if (owner) return owner;
  }
  throw new LocalPostgresError(
    "no_unprivileged_user",
    "PostgreSQL refuses to run as root and no user for it could be created: create one (useradd --system parley), or start as an ordinary user, or set DATABASE_URL.",
    { cause: new AggregateError(failures) },
  );
}

async function findUser(name: string): Promise<SystemUser | undefined> {
  try {
    const [uid, gid] = await Promise.all([run("id", ["-u", name]), run("id", ["-g", name])]);
    return { uid: Number(uid), gid: Number(gid) };
  } catch {
    // The user does not exist.
    return undefined;
  }
}
