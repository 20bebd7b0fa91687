import { WebhookEventTypesSchema } from "@parley/rpc/conversation";
import { permittedValuesOf } from "@parley/rpc/rules";
import { expect, test } from "vitest";
import { EVENT_TYPES } from "./event-types.ts";

test("names every type of event that the service accepts", () => {
  expect(Object.keys(EVENT_TYPES).toSorted()).toEqual(
    permittedValuesOf(WebhookEventTypesSchema.field.values).toSorted(),
  );
});
