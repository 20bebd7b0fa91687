import type { DescService } from "@bufbuild/protobuf";
import { type Client, Code, ConnectError, createClient, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { CODE_METADATA_KEY } from "@parley/rpc/code";
import { CliError } from "../errors.ts";
import { NEXT_STEPS } from "./next-steps.ts";
import type { ServiceWithAdmin } from "./service.ts";
import type { AdminTarget } from "./target.ts";

/** Calls an admin service: `callAdmin(KeyAdminService, (keys) => keys.listKeys({ workspaceId }))`. Throws AdminError. */
export type CallAdmin = <S extends DescService, T>(service: S, call: (client: Client<S>) => Promise<T>) => Promise<T>;

/**
 * An admin call failed. `code` is the service's stable code, such as `bot_not_found`, or one of the CLI's own codes: `unauthenticated`,
 * `unimplemented`, `unreachable` and `failed`.
 */
export class AdminError extends CliError {
  readonly code: string;

  constructor(code: string, message: string, cause: unknown) {
    super(message, { cause });
    this.name = "AdminError";
    this.code = code;
  }

  /** Whether the service refused this request as invalid. A request with other content, such as the next document, may still succeed. */
  get isInvalid(): boolean {
    return this.cause instanceof ConnectError && this.cause.code === Code.InvalidArgument;
  }
}

/** Long enough to add a document, the slowest admin call: it takes at most 60 s in the queue, 20 s to fetch a URL and 60 s to parse the content. */
const TIMEOUT_MS = 150_000;

export function createAdminCaller(target: AdminTarget): CallAdmin {
  return async (service, call) => {
    // Read for each call, because a member's token may expire during a command such as `parley knowledge add` with many files.
    const name = serviceName(service);
    const token = await target.readToken(name);
    const authorize: Interceptor = (next) => (request) => {
      request.header.set("authorization", `Bearer ${token}`);
      return next(request);
    };
    const baseUrl = target.findUrl(name);
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
function serviceName(service: DescService): ServiceWithAdmin {
  return service.typeName.split(".")[1] as ServiceWithAdmin;
}

function toAdminError(error: unknown, name: ServiceWithAdmin, url: string, target: AdminTarget): unknown {
  if (!(error instanceof ConnectError)) return error;
  const code = error.metadata.get(CODE_METADATA_KEY);
  if (code !== null && code !== "authentication_required") {
    const nextStep = NEXT_STEPS[code];
    return new AdminError(code, nextStep === undefined ? error.rawMessage : `${error.rawMessage}: ${nextStep}`, error);
  }
  switch (error.code) {
    case Code.Unauthenticated:
      return new AdminError("unauthenticated", `${name} at ${url} refused ${target.describeRefusedToken(name)}`, error);
    case Code.Unimplemented:
    case Code.NotFound:
      return new AdminError(
        "unimplemented",
        `${url} does not implement this call: use the URL of the ops port of ${name}, in the same version of Parley`,
        error,
      );
    case Code.DeadlineExceeded:
    case Code.Unavailable:
      return new AdminError("unreachable", `${name} does not answer at ${url}: ${target.suggestNextStep(name)}`, error);
    default:
      return new AdminError("failed", `${name} at ${url} failed: ${error.rawMessage}`, error);
  }
}
