import type { Message } from "@bufbuild/protobuf";
import { type ClientReadableStream, status } from "@grpc/grpc-js";
import type { Channel } from "./channel.ts";
import { RpcError } from "./error.ts";
import type { Call, CallTransport, MetadataWriter } from "./transport.ts";
import { waitForConnection } from "./wait-for-connection.ts";

/**
 * Sends each call as a separate gRPC call. If grpc-js retries a unary call and the retry is refused with RESOURCE_EXHAUSTED, the call fails
 * with UNAVAILABLE, because the first attempt may have succeeded.
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
          if (error) reject(toUnavailableIfRefusedRetry(RpcError.from(error)));
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

function toUnavailableIfRefusedRetry(cause: RpcError): RpcError {
  const { isRetry } = cause;
  if (!isRetry || cause.status !== status.RESOURCE_EXHAUSTED) return cause;
  const message = "the peer was unavailable, then refused the retry";
  return new RpcError(status.UNAVAILABLE, "unavailable", message, { cause, isRetry });
}
