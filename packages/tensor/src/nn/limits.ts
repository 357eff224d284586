/*
 * What a configuration may ask for at most: far more than models have, and little enough that nothing made from it takes
 * long or much memory before a weight is missing.
 */

/** Most channels, tokens or pixels of a side. */
export const MAX_WIDTH = 2 ** 20;
/** Most layers or blocks in a row. */
export const MAX_LAYERS = 1024;
/** Most levels, each of half the size of the one before. */
export const MAX_LEVELS = 16;
