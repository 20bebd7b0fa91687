import { packagedBinaries, sharedBinaries } from "./binaries.ts";
import { startLocalPostgres, startServer } from "./start.ts";

/** One start in a process of its own, for the tests; the argument is StarterArguments, in JSON. */
interface StarterArguments {
  dataDir: string;
  port: number;
  password: string;
  /** Become this user before the start; needs root. The files are then placed as this user's own. */
  uid?: number;
  gid?: number;
}

const { uid, gid, ...options } = JSON.parse(process.argv[2] ?? "{}") as StarterArguments;
if (uid === undefined || gid === undefined) {
  const { url, pid } = await startLocalPostgres({ ...options, fast: true });
  console.log(JSON.stringify({ url, pid }));
} else {
  // The clone itself may be closed to that user, so the binaries are the ones that are open to all.
  const binaries = await sharedBinaries(await packagedBinaries(), "/var/lib/parley");
  process.setgroups?.([]);
  process.setgid?.(gid);
  process.setuid?.(uid);
  const { url, pid, stop } = await startServer({ dataDir: options.dataDir, binaries }, { ...options, fast: true });
  await stop();
  console.log(JSON.stringify({ url, pid }));
}
// The server must outlive us, however we go.
setInterval(() => undefined, 1_000);
