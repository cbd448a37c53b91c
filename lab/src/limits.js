// What a run may take in the page; a larger one is refused before it begins, with its estimate.

const MOST_SECONDS = 90;
const MOST_FLOWS = 20_000;
const MOST_LINKS = 2_000;
const MOST_ROWS = 5_000_000;

/** Packet-hops that the page simulates in a second, until a run has shown how many they are. */
export const HOPS_PER_S = 8e6;

const ADVICE = "Make duration, rate or flows smaller, or run it with the command: clearpipe run.";

/** Why a run that is `about` this is refused, or null. */
export function refusal(about, hops_per_s = HOPS_PER_S) {
  const seconds = about.packet_hops_about / hops_per_s;
  const much = `about ${about.packet_hops_about.toExponential(1)} packet-hops`;
  if (seconds > MOST_SECONDS) {
    return `This run is too large for the page: ${much}, some ${Math.round(seconds)} s here, and ${MOST_SECONDS} s are allowed. ${ADVICE}`;
  }
  if (about.flows > MOST_FLOWS || about.links.length > MOST_LINKS) {
    return `This run is too large for the page: ${about.flows} flows and ${about.links.length} links, and ${MOST_FLOWS} and ${MOST_LINKS} are allowed. ${ADVICE}`;
  }
  if (about.rows_about > MOST_ROWS) {
    return `This run is too large for the page: some ${about.rows_about.toExponential(1)} values of curves, and ${MOST_ROWS.toExponential(0)} are allowed. ${ADVICE}`;
  }
  return null;
}
