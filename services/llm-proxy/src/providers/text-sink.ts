/** Takes a part of a reply; a promise when nothing more is to come until it resolves. */
export type Take<Part> = (part: Part) => Promise<void> | undefined;
