import { runCliInProcess } from "../system/cli.ts";
import type { Tenant } from "../system/system.ts";

// `mends` and `mend` are published keys of --json.
export type Finding = {
  check: string;
  result: string;
  message: string;
  mends: { proxy: string | null; mend: string }[];
};
export type Report = { verdict: string; proxies: string[]; findings: Finding[] };

/** Returns the arguments of `parley doctor`, with the tenant's key and origin unless `more` contains others. */
export function argumentsOf(tenant: Tenant, url: string, ...more: string[]): string[] {
  const origin = more.includes("--origin") ? [] : ["--origin", tenant.origin];
  const key = more.includes("--public-key") ? [] : ["--public-key", tenant.publicKey];
  return ["doctor", url, ...key, ...origin, ...more];
}

export async function runDoctor(args: readonly string[]): Promise<Report & { code: number | null }> {
  const { code, stdout, stderr } = await runCliInProcess([...args, "--json"], {});
  if (stdout === "") throw new Error(`parley doctor exited ${code}: ${stderr}`);
  return { code, ...(JSON.parse(stdout) as Report) };
}

export const findingOf = ({ findings }: Report, check: string) => findings.find((finding) => finding.check === check);
