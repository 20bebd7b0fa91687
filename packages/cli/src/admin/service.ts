/** The services with admin services, by proto package name. */
export type ServiceWithAdmin = "conversation" | "quota" | "llm";
