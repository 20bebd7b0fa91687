import type { Logger } from "@parley/service-kit";
import type { FastifyRequest } from "fastify";
import { addressBucket, isApiRoute, type Refusal } from "../http/index.ts";
import type { HashClient } from "../rate-limits/index.ts";

/** A refusal for operators. Contains neither an address nor a whole public key. */
export type RefusalRecord = {
  refusedAtMs: number;
  requestId: string;
  code: string;
  /** The HTTP status; 200 if the stream was open. */
  status: number;
  /** See HttpError.reason. */
  reason: string;
  route: string;
  /** Empty if the request has no valid public key or access token, or was refused before its body was read. */
  workspaceId: string;
  /** The last characters of the public key; empty without a key. */
  keySuffix: string;
  /** A keyed hash of the client's address bucket. */
  client: string;
};

export type RecorderDeps = {
  /** Returns the workspace of a public key that this process has resolved before, without a call. */
  findWorkspaceId: (publicKey: string) => string | undefined;
  hashClient: HashClient;
  /** Stores a record for `parley refusals`. Must not throw or wait. */
  store: (record: RefusalRecord) => void;
  log: Logger;
  /** A monotonic clock in milliseconds. */
  monotonicMs: () => number;
};

/** Records a refusal, so that operators can find it by the id of its request. */
export type RecordRefusal = (refusal: Refusal, request: FastifyRequest) => void;

const WINDOW_MS = 10_000;
/** In a window. A client that repeats one error cannot displace the records of other clients. */
const MAX_OF_CLIENT_AND_CODE = 5;
/** In a window, of this process. */
const MAX_OF_PROCESS = 100;
const CLIENT_HASH_BYTES = 6;
/** Not recorded: they ask something of every new visitor, and would displace the refusals that somebody has to explain. */
const EXPECTED_CODES: ReadonlySet<string> = new Set(["challenge_required", "consent_required"]);
/** Every issued key matches. Other values are not keys, and may be a password or an email address. */
const KEY_PATTERN = /^\w{12,128}$/;
const KEY_SUFFIX_LENGTH = 4;

/**
 * Logs and stores the refusals of API requests, up to the limits above. A log line has the number of refusals that were not recorded since the last
 * line.
 */
export function createRefusalRecorder(deps: RecorderDeps): RecordRefusal {
  let windowEndsAtMs = 0;
  let recorded = 0;
  let unrecorded = 0;
  const countsByClient = new Map<string, number>();

  /** Counts a refusal in the current window. Returns false above a limit. */
  function mayRecord(clientAndCode: string): boolean {
    if (deps.monotonicMs() >= windowEndsAtMs) {
      windowEndsAtMs = deps.monotonicMs() + WINDOW_MS;
      recorded = 0;
      countsByClient.clear();
    }
    const ofClient = countsByClient.get(clientAndCode) ?? 0;
    if (recorded >= MAX_OF_PROCESS || ofClient >= MAX_OF_CLIENT_AND_CODE) return false;
    countsByClient.set(clientAndCode, ofClient + 1);
    recorded++;
    return true;
  }

  function describe({ code, status, reason, route }: Refusal, request: FastifyRequest): RefusalRecord {
    const workspaceId = request.workspaceId || (deps.findWorkspaceId(request.publicKey) ?? "");
    const client = deps.hashClient(workspaceId, addressBucket(request.ip)).subarray(0, CLIENT_HASH_BYTES);
    return {
      refusedAtMs: Date.now(),
      requestId: request.id,
      code,
      status,
      reason,
      route,
      workspaceId,
      keySuffix: KEY_PATTERN.test(request.publicKey) ? request.publicKey.slice(-KEY_SUFFIX_LENGTH) : "",
      client: Buffer.from(client).toString("hex"),
    };
  }

  return (refusal, request) => {
    // A client that has left was not refused.
    if (!isApiRoute(refusal.route) || refusal.status === 499 || EXPECTED_CODES.has(refusal.code)) return;
    const isFailure = refusal.status >= 500 && refusal.code !== "overloaded";
    const isRecorded = mayRecord(`${refusal.code} ${request.workspaceId || request.publicKey} ${request.ip}`);
    if (!isRecorded) unrecorded++;
    // The logger itself limits the lines of failures, because they have an error.
    if (!isRecorded && !isFailure) return;
    const record = describe(refusal, request);
    if (isRecorded) deps.store(record);
    const { refusedAtMs: _, ...fields } = record;
    const line = toLogFields(fields);
    if (isFailure) return deps.log.warn({ ...line, error: refusal.error }, "request failed");
    deps.log.info({ ...line, ...(unrecorded > 0 && { unrecorded }) }, "request refused");
    unrecorded = 0;
  };
}

function toLogFields({ requestId, workspaceId, keySuffix, ...fields }: Omit<RefusalRecord, "refusedAtMs">): object {
  return { request_id: requestId, ...fields, workspace_id: workspaceId, key_suffix: keySuffix };
}
