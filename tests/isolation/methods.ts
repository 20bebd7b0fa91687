import type { DescMethod, DescService } from "@bufbuild/protobuf";
import * as conversation from "@parley/rpc/conversation";
import * as llm from "@parley/rpc/llm";
import * as quota from "@parley/rpc/quota";
import type { ServiceProcess } from "../system/processes.ts";
import type { System } from "../system/system.ts";

/** Every method of every service. */
export const METHODS: readonly DescMethod[] = [conversation, quota, llm]
  .flatMap((module) => Object.values(module as object).filter((each): each is DescService => each?.kind === "service"))
  .flatMap((service) => service.methods);

export const nameOf = (method: DescMethod) => `${method.parent.typeName}/${method.name}`;

export const isAdminMethod = ({ parent }: DescMethod) => parent.name.endsWith("AdminService");

/** Returns the process that serves a service. */
export function processOf(system: System, { typeName }: DescService): ServiceProcess {
  if (typeName.startsWith("parley.quota.")) return system.quota;
  return typeName.startsWith("parley.llm.") ? system.llm : system.conversation;
}
