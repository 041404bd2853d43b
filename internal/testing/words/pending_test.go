package words

// notSwept are directories whose texts are still to be rewritten. A directory that is rewritten leaves the list.
const notSwept = `
checker
checker/internal/locksim
checker/internal/proof
`
