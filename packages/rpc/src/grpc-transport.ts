import type { Message } from "@bufbuild/protobuf";
import { type ClientReadableStream, type ServiceError, status } from "@grpc/grpc-js";
import type { Channel } from "./channel.ts";
import { RpcError } from "./error.ts";
import type { Call, CallTransport, MetadataWriter } from "./transport.ts";
import { waitForConnection } from "./wait-for-connection.ts";

/** grpc-js adds this key to the metadata of a failed call that it has retried. */
const PREVIOUS_ATTEMPTS_KEY = "grpc-previous-rpc-attempts";

/**
 * Sends each call as a separate gRPC call. If grpc-js retries a unary call and the retry is refused with RESOURCE_EXHAUSTED, the call fails
 * with UNAVAILABLE: the first attempt may have succeeded, but callers take RESOURCE_EXHAUSTED as proof that nothing was done.
 */
export class GrpcTransport implements CallTransport {
  readonly #channel: Channel;
  readonly #writeMetadata: MetadataWriter;

  constructor(channel: Channel, writeMetadata: MetadataWriter) {
    this.#channel = channel;
    this.#writeMetadata = writeMetadata;
  }

  unary({ method, request, metadata, deadlineMs, signal, waitForReady }: Call): Promise<Message> {
    this.#writeMetadata(metadata);
    if (waitForReady) metadata.setOptions({ waitForReady: true });
    return new Promise<Message>((resolve, reject) => {
      const cancel = () => grpcCall.cancel();
      const grpcCall = this.#channel.makeUnaryRequest(
        method.path,
        method.requestSerialize,
        method.responseDeserialize,
        request,
        metadata,
        { deadline: deadlineMs },
        (error, response) => {
          signal?.removeEventListener("abort", cancel);
          if (error) reject(isRefusedRetry(error) ? toUnavailable(error) : error);
          else resolve(response as Message);
        },
      );
      if (signal?.aborted) cancel();
      else signal?.addEventListener("abort", cancel, { once: true });
    });
  }

  async *serverStream({ method, request, metadata, deadlineMs, signal }: Call): AsyncGenerator<Message> {
    let grpcCall: ClientReadableStream<Message> | undefined;
    const cancel = () => grpcCall?.cancel();
    this.#writeMetadata(metadata);
    try {
      // `deadlineMs` allows for the longest stream. waitForConnection reports an unreachable peer much sooner.
      await waitForConnection(this.#channel, signal);
      const { path, requestSerialize, responseDeserialize } = method;
      grpcCall = this.#channel.makeServerStreamRequest(path, requestSerialize, responseDeserialize, request, metadata, {
        deadline: deadlineMs,
      });
      if (signal?.aborted) cancel();
      else signal?.addEventListener("abort", cancel, { once: true });
      for await (const message of grpcCall) yield message as Message;
    } finally {
      signal?.removeEventListener("abort", cancel);
      // Ends the call at the peer when the caller stops reading early.
      cancel();
    }
  }
}

function isRefusedRetry({ code, metadata }: ServiceError): boolean {
  return code === status.RESOURCE_EXHAUSTED && metadata.get(PREVIOUS_ATTEMPTS_KEY).length > 0;
}

function toUnavailable(cause: ServiceError): RpcError {
  return new RpcError(status.UNAVAILABLE, "unavailable", "the peer was unavailable, then refused the retry", { cause });
}
