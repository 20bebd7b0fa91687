import { rm } from "node:fs/promises";
import { resolveInstallation } from "./installation.ts";
import { findPostmaster, stopPostmaster } from "./postmaster.ts";

/** Stops the server that startLocalPostgres started on `dataDir`, if it is running, and deletes its data. */
export async function removeLocalPostgres(dataDir: string): Promise<void> {
  const installation = await resolveInstallation(dataDir);
  const running = await findPostmaster(installation.dataDir);
  if (running) await stopPostmaster(running.pid, installation.dataDir);
  await rm(installation.dataDir, { recursive: true, force: true });
}
