import { LocalPostgresError } from "./errors.ts";
import { run, type SystemUser } from "./run.ts";

const USER_NAMES = ["postgres", "parley"];

/** Returns the user `postgres` or `parley`. If neither exists, creates a system user `parley`. PostgreSQL refuses to run as root. */
export async function ensureUnprivilegedUser(): Promise<SystemUser> {
  for (const name of USER_NAMES) {
    const user = await findUser(name);
    if (user) return user;
  }
  const failures: unknown[] = [];
  for (const [command, ...args] of [
    ["useradd", "--system", "--user-group", "--no-create-home", "--shell", "/usr/sbin/nologin", "parley"],
    ["adduser", "--system", "--group", "--no-create-home", "parley"],
  ] as const) {
    await run(command, [...args]).catch((error: unknown) => failures.push(error));
    const user = await findUser("parley");
    if (user) return user;
  }
  throw new LocalPostgresError(
    "no_unprivileged_user",
    "PostgreSQL refuses to run as root and no user for it could be created: create one (useradd --system parley), or run this command as an ordinary user, or set DATABASE_URL.",
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
