package reproduce

import "slices"

// Entries are all tables and figures, by paper. A paper's entries are in files of
// their own.
var Entries = slices.Concat(masimEntries, nscEntries, nscTimeEntries, nscSenseEntries, nscAreaEntries, infinityEntries, infinityTimeEntries, infinityTileEntries, coreEntries, gearboxEntries, aresEntries)
