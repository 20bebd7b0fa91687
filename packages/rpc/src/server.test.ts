import { create } from "@bufbuild/protobuf";
import { Metadata, Server } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import { status } from "./error.ts";
import { ListMonthTurnsRequestSchema, QuotaService, ReserveRequestSchema } from "./quota.ts";
import { implementService, type ServiceImplementation } from "./server.ts";

test.each([
  ["Reserve", create(ReserveRequestSchema, { turnId: "no" }), "turn_id must be a UUID"],
  ["ListMonthTurns", create(ListMonthTurnsRequestSchema), "month is missing"],
])(
  "%s refuses a request that breaks the rules of its proto, after the interceptor and before the handler",
  async (name, request, message) => {
    const calls: string[] = [];
    const implementation = {
      reserve: () => calls.push("handler"),
      listMonthTurns: () => calls.push("handler"),
    } as unknown as ServiceImplementation<typeof QuotaService>;
    const methods = implementService(new Server(), QuotaService, implementation, (_, next) => {
      calls.push("interceptor");
      return next();
    });
    const served = methods.find((method) => method.name.endsWith(`/${name}`));
    const context = { method: name, signal: new AbortController().signal, metadata: new Metadata(), request };
    await expect(served?.serve(context, () => undefined)).rejects.toMatchObject({
      status: status.INVALID_ARGUMENT,
      code: "invalid_argument",
      message,
    });
    expect(calls).toEqual(["interceptor"]);
  },
);
