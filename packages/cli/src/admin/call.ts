import type { DescService } from "@bufbuild/protobuf";
import { type Client, Code, ConnectError, createClient, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { CODE_METADATA_KEY } from "@parley/rpc/code";
import { CliError } from "../errors.ts";
import { NEXT_STEPS } from "./next-steps.ts";
import type { AdminService } from "./service.ts";
import type { AdminTarget } from "./target.ts";

/** Asks an admin service: `admin(KeyAdminService, (keys) => keys.listKeys({ workspaceId }))`. Throws AdminError. */
export type Admin = <S extends DescService, T>(service: S, work: (client: Client<S>) => Promise<T>) => Promise<T>;

/** An admin service refused or did not answer. `code` is the stable one, such as `bot_not_found`; `away` when nobody answered. */
export class AdminError extends CliError {
  readonly code: string;

  constructor(code: string, message: string, cause: unknown) {
    super(message, { cause });
    this.name = "AdminError";
    this.code = code;
  }

  /** Whether the service refused what it was sent, and may accept something else. */
  get isInvalid(): boolean {
    return this.cause instanceof ConnectError && this.cause.code === Code.InvalidArgument;
  }
}

/** The longest admin call is a provider's answer to a real question. */
const TIMEOUT_MS = 120_000;

/** Calls the admin services of a target, with its token. */
export function connectAdmin(target: AdminTarget): Admin {
  const authorize: Interceptor = (next) => (request) => {
    request.header.set("authorization", `Bearer ${target.adminToken}`);
    return next(request);
  };
  return async (service, work) => {
    const name = serviceOf(service);
    const baseUrl = target.urlOf(name);
    const transport = createConnectTransport({
      baseUrl,
      httpVersion: "1.1",
      interceptors: [authorize],
      defaultTimeoutMs: TIMEOUT_MS,
    });
    try {
      return await work(createClient(service, transport));
    } catch (error) {
      throw explain(error, name, baseUrl, target);
    }
  };
}

/** `parley.quota.v1` is served by quota. */
function serviceOf(service: DescService): AdminService {
  return service.typeName.split(".")[1] as AdminService;
}

function explain(error: unknown, name: AdminService, url: string, target: AdminTarget): unknown {
  if (!(error instanceof ConnectError)) return error;
  const code = error.metadata.get(CODE_METADATA_KEY);
  if (code !== null) {
    const next = NEXT_STEPS[code];
    return new AdminError(code, next === undefined ? error.rawMessage : `${error.rawMessage}: ${next}`, error);
  }
  switch (error.code) {
    case Code.Unauthenticated:
      return new AdminError(
        "unauthenticated",
        `${name} at ${url} refused the admin token: set ADMIN_TOKEN to the one it was started with`,
        error,
      );
    case Code.Unimplemented:
    case Code.NotFound:
      return new AdminError(
        "unimplemented",
        `${url} does not know this call: it must be the ops port of ${name}, of this version of Parley`,
        error,
      );
    case Code.DeadlineExceeded:
    case Code.Unavailable:
      return new AdminError("away", `${name} does not answer at ${url}: ${target.whenAway(name)}`, error);
    default:
      return new AdminError("failed", `${name} at ${url} failed: ${error.rawMessage}`, error);
  }
}
