import type { Config } from "../config.ts";
import { CliError } from "../errors.ts";
import { type Instance, isRunning, readInstance } from "../local/instance.ts";
import { readLogin } from "../login/login-file.ts";
import { readAccessToken } from "../login/sign-in.ts";
import type { ReplicaTarget } from "../top/scrape.ts";
import type { SelectingService, ServiceWithAdmin } from "./service.ts";

/** The addresses and the token of an installation's admin services. */
export type AdminTarget = {
  /**
   * Returns the token for a service: for the edge the internal token, for the others the admin token or, without one, a member's access token,
   * refreshed if it expires soon.
   */
  readToken: (service: ServiceWithAdmin) => Promise<string>;
  /** The `…` of the error `quota at <url> refused …`: the token's source and the next step, without the token's value. */
  describeRefusedToken: (service: ServiceWithAdmin) => string;
  /** Returns the URL of a service's ops port. Throws CliError when it is not configured. */
  findUrl: (service: ServiceWithAdmin) => string;
  /** The ops URLs of each service's replicas, for `parley top`. A host name may resolve to several replicas. */
  replicas: Record<ServiceWithAdmin, ReplicaTarget>;
  /** Returns the next step for the error that a service is unreachable. */
  suggestNextStep: (service: ServiceWithAdmin) => string;
};

export const START_COMMAND = "npx --yes pnpm@12 start";

const REFUSED_ADMIN_TOKEN = "the admin token: set ADMIN_TOKEN to the token that the service was started with";
const REFUSED_INTERNAL_TOKEN = "the internal token: set INTERNAL_TOKEN to the token that the service was started with";
const REFUSED_LOGIN = "your login: sign in again with parley login";

const VARIABLES: Record<ServiceWithAdmin, string> = {
  conversation: "PARLEY_CONVERSATION_URL",
  quota: "PARLEY_QUOTA_URL",
  llm: "PARLEY_LLM_URL",
  edge: "PARLEY_EDGE_URL",
};

/**
 * Returns the installation whose URLs are set in the environment. If none is set, returns the installation on this machine. Throws CliError if only
 * a _REPLICAS_URL variable is set.
 */
export async function findTarget(config: Config, notice: (line: string) => void): Promise<AdminTarget> {
  if (Object.values(config.adminUrls).some((url) => url !== undefined)) return remoteTarget(config, notice);
  // Without admin URLs, `replicaUrls` contains only the URLs of the _REPLICAS_URL variables. The local installation must not replace the
  // installation that they name.
  for (const [service, url] of Object.entries(config.replicaUrls)) {
    const variable = VARIABLES[service as SelectingService];
    if (url !== undefined)
      throw new CliError(`${variable.replace(/URL$/, "REPLICAS_URL")} has no effect alone: set ${variable} too`);
  }
  return localTarget(await requireInstance(config.dataDir), config.dataDir);
}

/** Throws CliError with the start command when no instance is running. */
export async function requireInstance(dataDir: string): Promise<Instance> {
  const instance = await readInstance(dataDir);
  if (!instance || !isRunning(instance)) throw new CliError(notRunningMessage(dataDir));
  return instance;
}

export function localTarget(instance: Instance, dataDir: string): AdminTarget {
  const urls = { ...instance.adminUrls, edge: instance.edgeOpsUrl };
  return {
    readToken: async (service) => (service === "edge" ? instance.internalToken : instance.adminToken),
    describeRefusedToken: () =>
      `the token in ${dataDir}: another Parley may use this port, so restart the Parley of ${dataDir} with ${START_COMMAND}`,
    findUrl: (service) => urls[service],
    replicas: toReplicaTargets(urls),
    suggestNextStep: (service) =>
      isRunning(instance)
        ? `try again in a few seconds, then check ${dataDir}/logs/${service === "llm" ? "llm-proxy" : service}.log`
        : notRunningMessage(dataDir),
  };
}

async function remoteTarget(
  { adminUrls, replicaUrls, edgeOpsUrl, minReplicas, adminToken, internalToken, login }: Config,
  notice: (line: string) => void,
): Promise<AdminTarget> {
  const urls = { ...adminUrls, edge: edgeOpsUrl };
  const readCallerToken = async () => adminToken ?? (await readAccessToken(login.path, notice)) ?? failWithoutToken();
  if (adminToken === undefined && (await readLogin(login.path)) === undefined) failWithoutToken();
  return {
    readToken: async (service) =>
      service === "edge" ? (internalToken ?? failWithoutInternalToken()) : readCallerToken(),
    describeRefusedToken(service) {
      if (service === "edge") return REFUSED_INTERNAL_TOKEN;
      return adminToken === undefined ? REFUSED_LOGIN : REFUSED_ADMIN_TOKEN;
    },
    findUrl: (service) => {
      const url = urls[service];
      if (url === undefined)
        throw new CliError(`${VARIABLES[service]} is not set: set it to the URL of the service's ops port`);
      return url;
    },
    replicas: toReplicaTargets({ ...replicaUrls, edge: edgeOpsUrl }, minReplicas),
    suggestNextStep: (service) =>
      `check that ${VARIABLES[service]} is the URL of its ops port and that the network allows the connection`,
  };
}

function failWithoutInternalToken(): never {
  throw new CliError("INTERNAL_TOKEN is not set: set it to the token that the services were started with");
}

function failWithoutToken(): never {
  throw new CliError(
    "ADMIN_TOKEN is not set: set it to the token that the services were started with, or sign in with parley login",
  );
}

function toReplicaTargets(
  urls: Record<ServiceWithAdmin, string | undefined>,
  minReplicas?: Config["minReplicas"],
): AdminTarget["replicas"] {
  const toTarget = (service: ServiceWithAdmin): ReplicaTarget => {
    const url = urls[service];
    return url === undefined ? { urls: [] } : { urls: [url], minReplicas: minReplicas?.[service] };
  };
  return {
    edge: toTarget("edge"),
    conversation: toTarget("conversation"),
    quota: toTarget("quota"),
    llm: toTarget("llm"),
  };
}

function notRunningMessage(dataDir: string): string {
  return `Parley is not running in ${dataDir}: start it with ${START_COMMAND}, or select another installation with DATA_DIR or with PARLEY_CONVERSATION_URL, PARLEY_QUOTA_URL, PARLEY_LLM_URL and ADMIN_TOKEN`;
}
