import {
  type DescMessage,
  type DescMethod,
  type DescService,
  fromBinary,
  type Message,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import type { MethodDefinition, ServiceDefinition } from "@grpc/grpc-js";

/** grpc-js's definition of a method of any service. */
export type GrpcMethod = MethodDefinition<Message, Message>;

/** Converts a protobuf-es method to grpc-js's definition. */
export function toMethodDefinition<I extends DescMessage, O extends DescMessage>(
  method: DescMethod & { input: I; output: O },
): MethodDefinition<MessageShape<I>, MessageShape<O>> {
  return {
    path: `/${fullMethodName(method)}`,
    requestStream: method.methodKind === "client_streaming" || method.methodKind === "bidi_streaming",
    responseStream: method.methodKind === "server_streaming" || method.methodKind === "bidi_streaming",
    requestSerialize: createEncoder<I>(method.input),
    requestDeserialize: (bytes) => fromBinary<I>(method.input, bytes),
    responseSerialize: createEncoder<O>(method.output),
    responseDeserialize: (bytes) => fromBinary<O>(method.output, bytes),
  };
}

/** Converts a protobuf-es service to grpc-js's definition, with the methods' names as in the proto. */
export function toServiceDefinition(service: DescService): ServiceDefinition {
  return Object.fromEntries(service.methods.map((method) => [method.name, toMethodDefinition(method)]));
}

/** Returns a method's full name, such as `parley.quota.v1.QuotaService/Reserve`. */
export function fullMethodName(method: DescMethod): string {
  return `${method.parent.typeName}/${method.name}`;
}

// Returns a view of toBinary's result instead of a copy: nothing else uses that memory, and grpc-js copies the bytes into the message's frame.
function createEncoder<S extends DescMessage>(schema: S): (message: MessageShape<S>) => Buffer {
  return (message) => {
    const bytes = toBinary<S>(schema, message);
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  };
}
