/** Parley's services that serve admin RPCs, by proto package name. */
export type ServiceWithAdmin = "conversation" | "quota" | "llm";
