import { startBackends } from "./backends.ts";
import { createInstallation, type Installation, type Tenant } from "./installation.ts";
import type { Values } from "./values.ts";

/** Installs Parley as documented, with additional values, and creates a tenant. */
export async function install(values?: Values): Promise<{ installation: Installation; tenant: Tenant }> {
  const installation = await createInstallation();
  await startBackends();
  await installation.prepare();
  await installation.runDocumented("cluster.md", "5. Install", values);
  return { installation, tenant: await installation.createTenant() };
}
