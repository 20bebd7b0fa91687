import { rm } from "node:fs/promises";
import { type DataLocation, resolveInstallation } from "./installation.ts";
import { findPostmaster, stopPostmaster } from "./postmaster.ts";

/** Stops the server that startLocalPostgres started at this location, if it is running, and deletes its data. */
export async function removeLocalPostgres(location: DataLocation): Promise<void> {
  const installation = await resolveInstallation(location);
  const running = await findPostmaster(installation.dataDir);
  if (running) await stopPostmaster(running.pid, installation.dataDir);
  await rm(installation.dataDir, { recursive: true, force: true });
}
