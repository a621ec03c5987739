//! Retrieval benchmark. `cargo run --release -p lab-rag` prints the tables and writes `lab/rag/RESULTS.md`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command that prints its tables")]

mod contender;
mod data;
mod measure;
mod shuffle;
fn main(){
    use secateur_rank::*; use contender::*; use std::path::Path;
    let f=Path::new("../shared/data/rag");
    let sets: Vec<_> = ["nq20","musique","hotpot"].iter().map(|n|(*n,data::questions(f,n).unwrap())).collect();
    let pool: Vec<data::CodeChunk>=data::lines(&f.join("code-chunks.jsonl.gz")).unwrap();
    let cq: Vec<data::CodeQuestion>=data::lines(&f.join("code-questions.jsonl.gz")).unwrap();
    let d=Weights::default();
    let mut cs=vec![Contender::Shuffled,Contender::Shortest,Contender::PlainBm25];
    let w=|n,w|Contender::Ours(n,Ranker::with_weights(Scorer::Lexical,w));
    let z=Weights{title:0.,nearness:0.,opening:0.,link:0.,steps:1,neighbour:0.,meaning:0.};

    let h=|n,w|Contender::Ours(n,Ranker::with_weights(Scorer::Hybrid,w));
    cs.push(w("s1",Weights{steps:1,..d}));cs.push(w("s2",d));cs.push(w("s3",Weights{steps:3,..d}));cs.push(w("s2 1.0",Weights{link:1.0,..d}));cs.push(w("s3 1.0",Weights{link:1.0,steps:3,..d}));cs.push(h("hyb",d));
    for c in &cs {
        print!("{:12}",c.name());
        for (n,s) in &sets { let r=measure::rank_questions(c,s,true); let f=measure::found(&r,&[1,3,5,10]); print!(" {n}"); for x in f.0 {print!(" {:.1}",x*100.);} for m in [0.9,0.8,0.75,0.7,0.65] {let k=measure::kept(&r,&Rule{keep_mass:m,min_score:0.0,..Rule::default()}); print!(" [{:.0}/{:.0}]",k.dropped*100.,k.all_gold*100.);}}
        let r=measure::rank_code(c,&pool,&cq,false); let f=measure::found(&r,&[5,10,20]); print!(" code"); for x in f.0 {print!(" {:.1}",x*100.);} let k=measure::kept(&r,&Rule::default()); println!(" [{:.0}/{:.0}]",k.dropped*100.,k.all_gold*100.);
    }
}
