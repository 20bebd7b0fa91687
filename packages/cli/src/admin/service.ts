/** Parley's services that serve admin RPCs, by proto package name. */
export type ServiceWithAdmin = "conversation" | "quota" | "llm" | "edge";

/** The services whose URLs select an installation. */
export type SelectingService = Exclude<ServiceWithAdmin, "edge">;
