import type { DescService } from "@bufbuild/protobuf";
import { type Client, Code, ConnectError, createClient, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { CODE_METADATA_KEY } from "@parley/rpc/code";
import { CliError } from "../errors.ts";
import { NEXT_STEPS } from "./next-steps.ts";
import type { AdminService } from "./service.ts";
import type { AdminTarget } from "./target.ts";

/** Calls an admin service: `admin(KeyAdminService, (keys) => keys.listKeys({ workspaceId }))`. Throws AdminError. */
export type Admin = <S extends DescService, T>(service: S, call: (client: Client<S>) => Promise<T>) => Promise<T>;

/** An admin call failed. `code` is the service's stable code, such as `bot_not_found`, or `away` when the service is unreachable. */
export class AdminError extends CliError {
  readonly code: string;

  constructor(code: string, message: string, cause: unknown) {
    super(message, { cause });
    this.name = "AdminError";
    this.code = code;
  }

  /** Whether the request was invalid, so that another request may succeed. */
  get isInvalid(): boolean {
    return this.cause instanceof ConnectError && this.cause.code === Code.InvalidArgument;
  }
}

/** Long enough for the slowest admin call, a provider check. */
const TIMEOUT_MS = 120_000;

/** Returns a function that calls the admin services of a target with its token. */
export function connectAdmin(target: AdminTarget): Admin {
  const authorize: Interceptor = (next) => (request) => {
    request.header.set("authorization", `Bearer ${target.adminToken}`);
    return next(request);
  };
  return async (service, call) => {
    const name = serviceOf(service);
    const baseUrl = target.urlOf(name);
    const transport = createConnectTransport({
      baseUrl,
      httpVersion: "1.1",
      interceptors: [authorize],
      defaultTimeoutMs: TIMEOUT_MS,
    });
    try {
      return await call(createClient(service, transport));
    } catch (error) {
      throw toAdminError(error, name, baseUrl, target);
    }
  };
}

/** Reads the service from the proto package, for example quota from `parley.quota.v1`. */
function serviceOf(service: DescService): AdminService {
  return service.typeName.split(".")[1] as AdminService;
}

function toAdminError(error: unknown, name: AdminService, url: string, target: AdminTarget): unknown {
  if (!(error instanceof ConnectError)) return error;
  const code = error.metadata.get(CODE_METADATA_KEY);
  if (code !== null) {
    const nextStep = NEXT_STEPS[code];
    return new AdminError(code, nextStep === undefined ? error.rawMessage : `${error.rawMessage}: ${nextStep}`, error);
  }
  switch (error.code) {
    case Code.Unauthenticated:
      return new AdminError(
        "unauthenticated",
        `${name} at ${url} refused the admin token: set ADMIN_TOKEN to the token that the service was started with`,
        error,
      );
    case Code.Unimplemented:
    case Code.NotFound:
      return new AdminError(
        "unimplemented",
        `${url} does not implement this call: use the URL of the ops port of ${name}, in the same version of Parley`,
        error,
      );
    case Code.DeadlineExceeded:
    case Code.Unavailable:
      return new AdminError("away", `${name} does not answer at ${url}: ${target.unreachableHint(name)}`, error);
    default:
      return new AdminError("failed", `${name} at ${url} failed: ${error.rawMessage}`, error);
  }
}
