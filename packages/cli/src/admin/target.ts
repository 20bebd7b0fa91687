import type { Config } from "../config.ts";
import { CliError } from "../errors.ts";
import { type Instance, isRunning, readInstance } from "../local/instance.ts";
import type { AdminService } from "./service.ts";

/** Where a Parley is administered. */
export type AdminTarget = {
  adminToken: string;
  /** The base URL of a service's ops port. Throws CliError when it is not known. */
  urlOf: (service: AdminService) => string;
  /** The ops ports that are known, the edge's too. */
  opsUrls: Record<AdminService | "edge", readonly string[]>;
  /** What to do when nobody answers there. */
  whenAway: (service: AdminService) => string;
};

export const START_COMMAND = "npx --yes pnpm@12 start";

const VARIABLES: Record<AdminService, string> = {
  conversation: "PARLEY_CONVERSATION_URL",
  quota: "PARLEY_QUOTA_URL",
  llm: "PARLEY_LLM_URL",
};

/** The Parley that the environment names, else the one that runs on this machine. */
export async function findTarget(config: Config): Promise<AdminTarget> {
  if (Object.values(config.remoteUrls).some((url) => url !== undefined)) return remoteTarget(config);
  return localTarget(await requireInstance(config.dataDir), config.dataDir);
}

/** The instance of this machine. Throws CliError with the command that starts one. */
export async function requireInstance(dataDir: string): Promise<Instance> {
  const instance = await readInstance(dataDir);
  if (!instance || !isRunning(instance)) throw new CliError(nothingRuns(dataDir));
  return instance;
}

/** The Parley that runs on this machine. */
export function localTarget(instance: Instance, dataDir: string): AdminTarget {
  return {
    adminToken: instance.adminToken,
    urlOf: (service) => instance.adminUrls[service],
    opsUrls: listed({ ...instance.adminUrls, edge: instance.edgeOpsUrl }),
    whenAway: (service) =>
      isRunning(instance)
        ? `try again in some seconds, and see ${dataDir}/logs/${service === "llm" ? "llm-proxy" : service}.log`
        : nothingRuns(dataDir),
  };
}

function remoteTarget({ remoteUrls, edgeOpsUrl, adminToken }: Config): AdminTarget {
  if (adminToken === undefined) {
    throw new CliError("ADMIN_TOKEN is not set: give the admin token that the services were started with");
  }
  return {
    adminToken,
    urlOf: (service) => {
      const url = remoteUrls[service];
      if (url === undefined) throw new CliError(`${VARIABLES[service]} is not set: give the URL of its ops port`);
      return url;
    },
    opsUrls: listed({ ...remoteUrls, edge: edgeOpsUrl }),
    whenAway: (service) => `see that ${VARIABLES[service]} names its ops port and that the way there is open`,
  };
}

function listed(urls: Record<AdminService | "edge", string | undefined>): AdminTarget["opsUrls"] {
  const list = (url: string | undefined) => (url === undefined ? [] : [url]);
  const { edge, conversation, quota, llm } = urls;
  return { edge: list(edge), conversation: list(conversation), quota: list(quota), llm: list(llm) };
}

function nothingRuns(dataDir: string): string {
  return `no Parley runs here (${dataDir} knows of none): start it with ${START_COMMAND}, or name another with DATA_DIR, or with PARLEY_CONVERSATION_URL, PARLEY_QUOTA_URL, PARLEY_LLM_URL and ADMIN_TOKEN`;
}
