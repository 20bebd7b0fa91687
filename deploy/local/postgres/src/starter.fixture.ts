import { ensureSharedBinaries, findPackagedBinaries } from "./binaries.ts";
import { startLocalPostgres, startServer } from "./start.ts";

/**
 * The JSON argument of this script, which starts a PostgreSQL server for the tests. Without `uid` and `gid`, the server keeps running. With
 * them, the script stops the server after the start and keeps the data directory.
 */
interface StarterArguments {
  dataDir: string;
  port: number;
  password: string;
  /** Switch to this user before the start; needs root. */
  uid?: number;
  gid?: number;
}

const { uid, gid, ...options } = JSON.parse(process.argv[2] ?? "{}") as StarterArguments;
if (uid === undefined || gid === undefined) {
  const { url, pid } = await startLocalPostgres({ ...options, fast: true });
  console.log(JSON.stringify({ url, pid }));
} else {
  // The user `uid` may not be able to enter the repository, so the server runs a copy of the binaries outside it.
  const binaries = await ensureSharedBinaries(await findPackagedBinaries(), "/var/lib/parley");
  process.setgroups?.([]);
  process.setgid?.(gid);
  process.setuid?.(uid);
  const { url, pid, stop } = await startServer({ dataDir: options.dataDir, binaries }, { ...options, fast: true });
  await stop();
  console.log(JSON.stringify({ url, pid }));
}
// Keeps the process running until the test kills it.
setInterval(() => undefined, 1_000);
