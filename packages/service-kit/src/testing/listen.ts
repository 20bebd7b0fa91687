import { type Server, ServerCredentials } from "@grpc/grpc-js";

/** Has a gRPC server listen on 127.0.0.1 in plain text; on a free port unless one is given. Resolves with the port. */
export function listen(server: Server, port = 0): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
}
